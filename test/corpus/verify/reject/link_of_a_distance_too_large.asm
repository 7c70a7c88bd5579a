# SPDX-License-Identifier: MIT
# Two large steps up are no small one down.
# expect: reject not_pointer 6
ldxdw %r6, [%r1+8]
mov %r2, %r6
add %r2, 0x7fffffff
add %r2, 0x7fffffff
jgt %r6, 63, +2
jsle %r2, 63, +1
ldxb %r0, [%r2] # near: mov %r0, %r2
mov %r0, 0
exit
