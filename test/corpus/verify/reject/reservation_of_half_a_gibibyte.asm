# SPDX-License-Identifier: MIT
# reservation of half a gibibyte
# expect: reject reserve_size 4
reserve 0x20000000 # near: reserve 536870911
jeq %r0, 0, out
discard %r0
