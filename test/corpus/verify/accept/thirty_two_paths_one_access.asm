# SPDX-License-Identifier: MIT
# expect: accept
find @counts
ldxdw %r1, [%r0]
mov %r2, 0
jset %r1, 1, a0
mov %r2, 0
ja b0
a0:
mov %r2, 3
b0:
jset %r1, 2, a1
mov %r2, 1
ja b1
a1:
mov %r2, 4
b1:
jset %r1, 4, a2
mov %r2, 2
ja b2
a2:
mov %r2, 5
b2:
jset %r1, 8, a3
mov %r2, 3
ja b3
a3:
mov %r2, 6
b3:
jset %r1, 16, a4
mov %r2, 4
ja b4
a4:
mov %r2, 7
b4:
add %r0, %r2
ldxb %r3, [%r0]
