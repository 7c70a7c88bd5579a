# SPDX-License-Identifier: MIT
# expect: reject memory_bounds 6
reserve 16
jeq %r0, 0, out
stb [%r0-1], 1 # near: stb [%r0-0], 1
submit %r0
