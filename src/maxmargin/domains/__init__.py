"""Where the weights live: all of R^d, balls, boxes, signs, cones, products of these."""

from maxmargin.domains.balls import L1Ball, L2Ball
from maxmargin.domains.base import Domain, RealSpace
from maxmargin.domains.boxes import Box, Fixed
from maxmargin.domains.cones import SubmodularCone
from maxmargin.domains.product import Product
from maxmargin.domains.signs import NonNegative, Signs

__all__ = [
    "Box",
    "Domain",
    "Fixed",
    "L1Ball",
    "L2Ball",
    "NonNegative",
    "Product",
    "RealSpace",
    "Signs",
    "SubmodularCone",
]
