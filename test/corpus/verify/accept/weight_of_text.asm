# SPDX-License-Identifier: MIT
# A line of text, and as many bytes as the size may be, read and copied.
# expect: accept iteration 1 first 296 iter_steps 0
mov %r6, %r1
mov %r2, 0
repeat 8 64 -8
stxdw [%r10-$], %r2
end
ldxw %r2, [%r6+64]
and %r2, 47
add %r2, 1
mov %r1, %r10
add %r1, -64
mov %r3, 0
mov %r4, 0
mov %r5, 0
call 6
mov %r0, 0
exit
