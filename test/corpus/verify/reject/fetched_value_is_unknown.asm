# SPDX-License-Identifier: MIT
# expect: reject pointer_range 9
find @counts
mov %r1, 1
lock fetch add [%r0], %r1
# near: and %r1, 7
add %r0, %r1
ldxb %r2, [%r0]
