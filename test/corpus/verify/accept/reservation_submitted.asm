# SPDX-License-Identifier: MIT
# expect: accept
reserve 16
jeq %r0, 0, out
stdw [%r0], 1
stdw [%r0+8], 2
submit %r0
