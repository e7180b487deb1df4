"""A domain of the user's, and a cone that the model itself asks for, at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.domains.balls import L1Ball, L2Ball
from maxmargin.domains.base import Domain, RealSpace, as_indices
from maxmargin.domains.cones import SubmodularCone
from maxmargin.domains.product import Product
from maxmargin.domains.signs import NonNegative, Signs

Cone = NonNegative | SubmodularCone


def intersect_domains(domain: Domain, cone: Cone, dim: int) -> Domain:
    """The weights that are in both, where the projection on these is known exactly.

    Signs meet signs, a cone and weights without it are independent, an l2 ball takes any cone, an
    l1 ball takes signs, products go group by group. All else is a ValueError with a hint.
    """
    own = _own(cone, dim)
    if isinstance(domain, RealSpace) or not len(own):
        return cone if len(own) else domain
    if isinstance(domain, L2Ball):
        return L2Ball(domain.radius, intersect_domains(domain.signs or RealSpace(), cone, dim))
    if isinstance(domain, L1Ball):
        found = intersect_domains(domain.signs or RealSpace(), cone, dim)
        if not isinstance(found, Signs):
            raise ValueError(
                "domain: an L1Ball over tables of edges is not known; use L2Ball(radius), or"
                " Product([(numbers of node weights, L1Ball(radius))])."
            )
        return L1Ball(domain.radius, found)
    if isinstance(domain, Signs):
        return _with_signs(domain, cone, dim)
    if isinstance(domain, SubmodularCone):
        return _with_tables(domain, cone, dim)
    if isinstance(domain, Product):
        return _with_product(domain, cone, dim)
    raise ValueError(
        f"domain: a {type(domain).__name__} cannot be joined with the signs that edges need; use"
        " L2Ball, L1Ball, Signs, NonNegative or a Product of these."
    )


def _own(cone: Cone, dim: int) -> np.ndarray:
    return np.arange(dim) if cone.indices is None else as_indices(cone.indices)


def _with_signs(domain: Signs, cone: Cone, dim: int) -> Domain:
    up, down = domain._signed(dim)
    own = _own(cone, dim)
    if isinstance(cone, NonNegative):
        both = np.intersect1d(own, down)
        if len(both):
            raise ValueError(
                f"domain: weight {both[0]} is the price of a cut, which is not negative; leave it"
                " out of `negative`."
            )
        return Signs(np.union1d(up, own), down) if len(down) else NonNegative(np.union1d(up, own))
    both = np.intersect1d(own, np.concatenate([up, down]))
    if len(both):
        raise ValueError(
            f"domain: weight {both[0]} is in a table of an edge feature, where signs cannot be"
            " given as well; leave it out, or learn without tables."
        )
    rest = np.setdiff1d(np.arange(dim), own)
    signs = Signs(np.searchsorted(rest, up), np.searchsorted(rest, down))
    return Product([(rest, signs), (own, SubmodularCone())])


def _with_tables(domain: SubmodularCone, cone: Cone, dim: int) -> Domain:
    given, known = _tables(domain, dim), set[tuple[int, ...]]()
    if isinstance(cone, SubmodularCone):
        known = _tables(cone, dim)
    if not given <= known:
        raise ValueError(
            "domain: a SubmodularCone goes with the tables of GraphCutSVM(tables=True), where it is"
            " understood; leave it out."
        )
    return cone


def _tables(cone: SubmodularCone, dim: int) -> set[tuple[int, ...]]:
    return {tuple(table) for table in _own(cone, dim).reshape(-1, 4).tolist()}


def _with_product(domain: Product, cone: Cone, dim: int) -> Domain:
    left = np.zeros(dim, dtype=bool)
    left[_own(cone, dim)] = True
    groups: list[tuple[Any, Domain]] = []
    for own, part in domain._parts():
        local = _part_of(cone, own, dim)
        left[own] = False
        groups.append((own, intersect_domains(part, local, len(own))))
    rest = _own(cone, dim)[left[_own(cone, dim)]]
    if len(rest):
        groups.append((rest, type(cone)()))
    return _flat(groups)


def _part_of(cone: Cone, group: np.ndarray, dim: int) -> Cone:
    """The cone's weights that are in the group, by their places in it."""
    place = np.full(dim, -1)
    place[group] = np.arange(len(group))
    found = place[_own(cone, dim)]
    if isinstance(cone, SubmodularCone):
        tables = found.reshape(-1, 4)
        inside = (tables >= 0).any(axis=1)
        if (tables[inside] < 0).any():
            raise ValueError(
                "domain: a group has some weights of a table 00, 01, 10, 11 and lacks others; name"
                " all four."
            )
        return SubmodularCone(tables[inside].ravel())
    return NonNegative(found[found >= 0])


def _flat(groups: list[tuple[Any, Domain]]) -> Product:
    """Without products in products."""
    flat: list[tuple[Any, Domain]] = []
    for own, part in groups:
        if isinstance(part, Product):
            flat += [(own[inner], domain) for inner, domain in part._parts()]
        else:
            flat.append((own, part))
    return Product(flat)
