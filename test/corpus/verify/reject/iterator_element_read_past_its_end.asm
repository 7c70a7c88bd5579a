# SPDX-License-Identifier: MIT
# expect: reject memory_bounds 9
ldxw %r3, [%r1+28]
mov %r1, %r10
add %r1, -8
mov %r2, 0
call 0x10001
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, out
ldxdw %r6, [%r0] # near: ldxb %r6, [%r0]
out:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r0, 0
exit
