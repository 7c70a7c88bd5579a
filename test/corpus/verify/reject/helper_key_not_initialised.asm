# SPDX-License-Identifier: MIT
# expect: reject stack_uninit 4
# near: stdw [%r10-8], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
mov %r0, 0
exit
