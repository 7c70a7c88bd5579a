# SPDX-License-Identifier: MIT
# expect: reject stack_uninit 5
sth [%r10-4], 0 # near: stw [%r10-4], 0
look @counts
mov %r0, 0
exit
