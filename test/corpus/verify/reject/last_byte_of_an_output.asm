# SPDX-License-Identifier: MIT
# 
# expect: reject ctx_partial 0
stb [%r1+79], 0
mov %r0, 0
exit
