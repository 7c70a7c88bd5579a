# SPDX-License-Identifier: MIT
# expect: reject nullable 21
mov %r9, %r1
stw [%r10-4], 4
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
mov %r6, %r0
stw [%r10-4], 4
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
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
out:
mov %r0, 0
exit
