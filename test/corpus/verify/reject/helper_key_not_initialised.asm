# SPDX-License-Identifier: MIT
# expect: reject stack_uninit 4
# near: stdw [%r10-8], 0
look @counts
mov %r0, 0
exit
