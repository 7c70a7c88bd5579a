# SPDX-License-Identifier: MIT
# expect: reject stack_uninit 4
# near: stdw [%r10-16], 0
stdw [%r10-8], 0
mov %r1, %r10
add %r1, -16
mov %r2, 16
call 6
mov %r0, 0
exit
