# SPDX-License-Identifier: MIT
# expect: reject pointer_range 8
find @counts
add %r0, 0x1fffffff # near: sub %r0, 0x1fffffff
add %r0, 0x1fffffff
ldxb %r2, [%r0]
