# SPDX-License-Identifier: MIT
# What is known of r8 by its link to r0 goes when nothing reads r0 any more.
# expect: reject map_bounds 17
find @counts
mov %r6, %r0
call 7
mov %r8, %r0
jsge %r8, 7, +1
add %r8, -4
sub %r8, -4
mov %r9, %r0
may_goto out
jsle %r8, 65535, out
add %r6, %r8 # near: add %r0, %r8
ldxb %r0, [%r6]
