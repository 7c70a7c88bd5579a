# SPDX-License-Identifier: MIT
# expect: accept
find @counts
mov %r1, %r0
add %r1, 8
sub %r1, %r0
