# SPDX-License-Identifier: MIT
# The inner iterator begins in each iteration of one that yields too many
# numbers for a reserve of steps, so its steps are not reserved either: they
# count among the constant iterations.
# expect: accept constant 7
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 5000
call 0x10001
next:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, done
mov %r1, %r10
add %r1, -16
mov %r2, 0
mov %r3, 7
call 0x10001
inner:
mov %r1, %r10
add %r1, -16
call 0x10002
jne %r0, 0, inner
mov %r1, %r10
add %r1, -16
call 0x10003
ja next
done:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r0, 0
exit
