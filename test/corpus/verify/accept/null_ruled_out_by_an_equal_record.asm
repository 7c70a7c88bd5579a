# SPDX-License-Identifier: MIT
# A pointer that equals the address of a record is not NULL.
# expect: accept
reserve 16
jeq %r0, 0, none
mov %r6, %r0
lookup @counts, 4
jne %r0, %r6, out
ldxb %r1, [%r0]
out:
submit %r6
none:
mov %r0, 0
exit
