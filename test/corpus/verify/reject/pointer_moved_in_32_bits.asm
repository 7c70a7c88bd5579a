# SPDX-License-Identifier: MIT
# Half of an address is none.
# expect: reject not_pointer 1
mov32 %r2, %r1 # near: mov %r2, %r1
ldxdw %r0, [%r2+8]
mov %r0, 0
exit
