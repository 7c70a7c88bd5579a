# SPDX-License-Identifier: MIT
# expect: accept
ldxw %r3, [%r1+64]
jeq %r3, 0, go
go:
call local f
mov %r0, 0
exit
f:
lddw map %r2, @jumps
mov %r3, 0
call 12
mov %r0, 0
exit
