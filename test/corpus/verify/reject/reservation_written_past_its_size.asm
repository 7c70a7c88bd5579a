# SPDX-License-Identifier: MIT
# expect: reject memory_bounds 6
reserve 16 # near: reserve 20
jeq %r0, 0, out
stdw [%r0+12], 1
submit %r0
