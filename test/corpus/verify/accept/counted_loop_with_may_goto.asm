# SPDX-License-Identifier: MIT
# expect: accept
find @counts
mov %r6, %r0
mov %r7, 0
l:
jge %r7, 64, out
may_goto out
mov %r1, %r6
add %r1, %r7
ldxb %r2, [%r1]
add %r7, 1
ja l
