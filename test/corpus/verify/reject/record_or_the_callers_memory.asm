# SPDX-License-Identifier: MIT
# Memory of the caller on one way, a record of that size on the other.
# expect: reject use_after_release 21
# opts: mem=32
mov %r6, %r1
mov %r9, %r2
call 7
mov %r9, %r0
reserve 32
jeq %r0, 0, out
mov %r7, %r0
mov %r8, %r6
jeq %r9, 3, rec
ja s
rec:
mov %r8, %r7 # near: mov %r8, %r6
s:
mov %r6, 0
mov %r9, 0
mov %r0, 0
submit %r7
ldxb %r0, [%r8]
