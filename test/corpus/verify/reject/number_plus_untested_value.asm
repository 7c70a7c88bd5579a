# SPDX-License-Identifier: MIT
# number plus untested value
# expect: reject null_arith 7
stw [%r10-4], 4
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
# near: jeq %r0, 0, out
mov %r1, 8
add %r1, %r0
# near: out:
mov %r0, 0
exit
