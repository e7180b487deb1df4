"""Compiled functions on trees and forests."""
