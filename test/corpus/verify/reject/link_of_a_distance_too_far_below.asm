# SPDX-License-Identifier: MIT
# A large step down and a small one are no large one up.
# expect: reject not_pointer 6
ldxdw %r6, [%r1+8]
mov %r2, %r6
add %r2, -2147483648
add %r2, -1
jgt %r6, 63, +2
jsgt %r2, 0, +1
ldxb %r0, [%r2] # near: mov %r0, %r2
mov %r0, 0
exit
