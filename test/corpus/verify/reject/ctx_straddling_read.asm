# SPDX-License-Identifier: MIT
# golden
# expect: reject ctx_field 0
ldxdw %r0, [%r1+24] # near: ldxdw %r0, [%r1+16]
exit
