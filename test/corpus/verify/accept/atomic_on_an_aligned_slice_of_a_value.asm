# SPDX-License-Identifier: MIT
# A slice at the start of a value that is aligned is aligned, too.
# expect: accept
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
call 203
jeq %r0, 0, out
mov %r1, 1
lock add [%r0], %r1
out:
mov %r0, 0
exit
