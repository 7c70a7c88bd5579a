# SPDX-License-Identifier: MIT
# expect: reject map_bounds 15
# The way that falls through knows r8 by its link to r0, which nothing reads
# any more; the other way must not be taken for the same.
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
mov %r6, %r0
call 7
mov %r8, %r0
jsge %r8, 7, +1 # near: jsge %r8, 7, +4
add %r8, -4
sub %r8, -4
jsle %r8, 65535, out
add %r6, %r8
ldxb %r0, [%r6]
out:
mov %r0, 0
exit
