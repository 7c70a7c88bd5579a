# SPDX-License-Identifier: MIT
# expect: accept
ldxw %r2, [%r1+64]
jeq %r2, 0, z
mov %r0, 0
exit
z:
mov %r0, 0
exit
