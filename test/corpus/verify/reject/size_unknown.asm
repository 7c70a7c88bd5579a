# SPDX-License-Identifier: MIT
# expect: reject arg_size 4
ldxdw %r2, [%r1+8]
stdw [%r10-8], 0x6869
mov %r1, %r10
add %r1, -8
# near: jgt %r2, 8, out
# near: jeq %r2, 0, out
call 6
# near: out:
mov %r0, 0
exit
