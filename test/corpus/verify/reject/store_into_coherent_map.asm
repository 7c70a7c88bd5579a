# SPDX-License-Identifier: MIT
# expect: reject map_coherent 7
find @limits # near: find @counts
stdw [%r0], 1
