# SPDX-License-Identifier: MIT
# expect: reject not_pointer 2
be64 %r1 # near:
be64 %r1 # near:
ldxw %r2, [%r1+28]
mov %r0, 0
exit
