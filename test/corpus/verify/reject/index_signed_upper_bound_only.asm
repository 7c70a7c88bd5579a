# SPDX-License-Identifier: MIT
# expect: reject pointer_range 9
find @counts
ldxdw %r1, [%r0]
jsgt %r1, 63, out
# near: jslt %r1, 0, out
add %r0, %r1
ldxb %r2, [%r0]
