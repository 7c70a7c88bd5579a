# SPDX-License-Identifier: MIT
# expect: reject nullable 21
mov %r9, %r1
lookup @counts, 4
mov %r6, %r0
lookup @counts, 4
mov %r7, %r0 # near: mov %r7, %r6
ldxdw %r3, [%r9+8]
jeq %r3, 1, b
mov %r8, %r6
ja j
b:
mov %r8, %r7
j:
jeq %r6, 0, out
ldxdw %r1, [%r8]
