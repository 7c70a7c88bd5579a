# SPDX-License-Identifier: MIT
# expect: reject map_bounds 15
# The way that falls through knows r8 by its link to r0, which nothing reads
# any more; the other way must not be taken for the same.
find @counts
mov %r6, %r0
call 7
mov %r8, %r0
jsge %r8, 7, +1 # near: jsge %r8, 7, +4
add %r8, -4
sub %r8, -4
jsle %r8, 65535, out
add %r6, %r8
ldxb %r0, [%r6]
