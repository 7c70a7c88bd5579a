# SPDX-License-Identifier: MIT
# Where the part of the dynptr begins at any byte, no atomics.
# expect: reject atomic_align 23
ldxw %r7, [%r1+28]
lddw map_value %r1, @bss, 0
mov %r2, 32
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 197
mov %r1, %r10
add %r1, -16
mov %r2, 0
mov %r3, 8
jeq %r7, 3, odd
call 203
mov %r6, %r0
ja s
odd:
mov %r2, 1 # near: mov %r2, 0
call 203
mov %r6, %r0
s:
mov %r7, 0
mov %r0, 0
jeq %r6, 0, out
mov %r1, 1
lock add [%r6], %r1
out:
exit
