"""Does depth follow the difficulty of the task? MANO, BREVO and DEPO by knob, ANIRA-E beside ANIRA-O."""
