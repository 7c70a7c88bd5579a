# SPDX-License-Identifier: MIT
# expect: reject memory_bounds 0
# opts: mem=32
ldxdw %r0, [%r1+25] # near: ldxdw %r0, [%r1+24]
exit
