"""The depth of MANO's question tokens by the state of the parse."""
