# SPDX-License-Identifier: MIT
# expect: reject not_pointer 2
lddw map %r1, @counts
ldxdw %r0, [%r1]
exit
