# SPDX-License-Identifier: MIT
# last byte of an output
# expect: reject ctx_partial 0
stb [%r1+79], 0 # near: stw [%r1+76], 0
mov %r0, 0
exit
