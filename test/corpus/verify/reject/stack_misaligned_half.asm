# SPDX-License-Identifier: MIT
# expect: reject stack_align 0
sth [%r10-3], 1 # near: sth [%r10-2], 1
mov %r0, 0
exit
