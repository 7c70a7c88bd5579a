# SPDX-License-Identifier: MIT
# golden
# expect: reject arg_zero 5
ldxdw %r2, [%r1+8]
stdw [%r10-8], 0x6869
mov %r1, %r10
add %r1, -8
jgt %r2, 8, out
# near: jeq %r2, 0, out
call 6
