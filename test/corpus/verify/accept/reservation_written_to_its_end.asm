# SPDX-License-Identifier: MIT
# expect: accept
reserve 16
jeq %r0, 0, out
stdw [%r0+8], 1
stb [%r0+15], 1
submit %r0
