# SPDX-License-Identifier: MIT
# golden
# no arithmetic on pointers that may be NULL
# expect: reject null_arith 6
stw [%r10-4], 4
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
# near: jeq %r0, 0, out
add %r0, 1
jeq %r0, 0, out
ldxb %r1, [%r0]
out:
mov %r0, 0
exit
