# SPDX-License-Identifier: MIT
# A number below an address may be any: not below its offset.
# expect: reject pointer_range 5
ldxdw %r2, [%r1+8]
lddw map_value %r4, @bss, 0
mov %r5, %r4
jge %r2, %r5, +2 # near: jge %r2, 64, +2
add %r4, %r2
ldxb %r0, [%r4]
mov %r0, 0
exit
