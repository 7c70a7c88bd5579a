# SPDX-License-Identifier: MIT
# expect: reject not_pointer 1
neg %r1 # near:
ldxw %r2, [%r1+28]
mov %r0, 0
exit
