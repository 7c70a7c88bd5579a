# SPDX-License-Identifier: MIT
# expect: reject pointer_range 8
# On one way two registers hold the same number; only there a test of one
# bounds the other.
ldxdw %r8, [%r1]
ldxdw %r9, [%r1+8]
ldxw %r2, [%r1+24]
jeq %r2, 0, join # near: jeq %r8, 0, join
mov %r9, %r8
join:
jgt %r9, 60, out
read_at @bss, 0, %r8
