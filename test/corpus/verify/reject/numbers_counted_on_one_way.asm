# SPDX-License-Identifier: MIT
# As many iterators were begun on both ways, of more numbers on one: with long iterations
# the third is one too many for that way alone.
# expect: reject run_length 65
mov %r6, %r1
ldxw %r7, [%r6+28]
jeq %r7, 3, more
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
v:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, ve
ja v
ve:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
w:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, we
ja w
we:
mov %r1, %r10
add %r1, -8
call 0x10003
ja s
more:
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 4096 # near: mov %r3, 1
call 0x10001
x:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, xe
call local slow
ja x
xe:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 4096
call 0x10001
y:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, ye
call local slow
ja y
ye:
mov %r1, %r10
add %r1, -8
call 0x10003
s:
mov %r0, 0
mov %r7, 0
mov %r6, 0
mov %r1, %r10
add %r1, -16
mov %r2, 0
mov %r3, 4096
call 0x10001
z:
mov %r1, %r10
add %r1, -16
call 0x10002
jeq %r0, 0, ze
call local slow
ja z
ze:
mov %r1, %r10
add %r1, -16
call 0x10003
mov %r0, 0
exit
slow:
call local a
call local a
call local a
call local a
call local a
call local a
call local a
call local a
mov %r0, 0
exit
a:
call local b
call local b
call local b
call local b
call local b
call local b
call local b
call local b
mov %r0, 0
exit
b:
mov %r6, 0
iteration:
add %r6, 1
jne %r6, 20, iteration
mov %r0, 0
exit
