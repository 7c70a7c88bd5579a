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
jset %r1, 32, a5
mov %r2, 5
ja b5
a5:
mov %r2, 0
b5:
jset %r1, 64, a6
mov %r2, 6
ja b6
a6:
mov %r2, 1
b6:
jset %r1, 128, a7
mov %r2, 7
ja b7
a7:
mov %r2, 2
b7:
jset %r1, 256, a8
mov %r2, 0
ja b8
a8:
mov %r2, 3
b8:
jset %r1, 512, a9
mov %r2, 1
ja b9
a9:
mov %r2, 4
b9:
add %r0, %r2
ldxb %r3, [%r0]
